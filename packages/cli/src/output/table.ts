import { clip, renderSpans, span, textWidth, type Emphasis, type Span } from './style.js'

/** A column of a table. */
export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** Narrowest form when the table is too wide; the column keeps its natural width when absent. */
  readonly shrinkTo?: number
}

/** What a table is laid out for. */
export interface TableOptions {
  /** Widest line; unlimited when absent. */
  readonly width?: number
  readonly color: boolean
  readonly indent?: number
}

const gap = 2

/** Lines of a table: titles, then rows. Columns are as wide as they have to be and no wider. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly Span[])[],
  { width = Infinity, color, indent = 0 }: TableOptions,
): readonly string[] {
  const head = columns.map(({ title }) => span(title, 'dim'))
  const widths = fitWidths(columns, [head, ...rows], width - indent)
  return [head, ...rows].map((cells) =>
    renderSpans(
      [
        span(' '.repeat(indent)),
        ...cells.flatMap((cell, index) => paddedCell(cell, columns[index], widths[index] ?? 0, index)),
      ],
      color,
    ),
  )
}

function fitWidths(
  columns: readonly Column[],
  rows: readonly (readonly Span[])[],
  available: number,
): readonly number[] {
  // There may be more rows than a call takes arguments.
  const widths = columns.map((_, index) =>
    rows.reduce((widest, cells) => Math.max(widest, textWidth(cells[index]?.text ?? '')), 0),
  )
  const total = (): number => widths.reduce((sum, width) => sum + width, 0) + gap * (columns.length - 1)
  while (total() > available) {
    // The widest of those that may shrink gives way, so that the narrow ones stay whole.
    const candidates = columns.flatMap(({ shrinkTo }, index) =>
      shrinkTo !== undefined && (widths[index] ?? 0) > shrinkTo ? [index] : [],
    )
    const [first, ...rest] = candidates
    if (first === undefined) break
    const widest = rest.reduce((best, index) => ((widths[index] ?? 0) > (widths[best] ?? 0) ? index : best), first)
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function paddedCell(cell: Span, column: Column | undefined, width: number, index: number): readonly Span[] {
  const text = clip(cell.text, width)
  const padding = span(' '.repeat(Math.max(0, width - textWidth(text))))
  const shown: Span = { text, emphasis: cell.emphasis }
  const between = span(index === 0 ? '' : ' '.repeat(gap))
  return column?.align === 'right' ? [between, padding, shown] : [between, shown, padding]
}

/** A title over a section. */
export function renderTitle(title: string, more: string, color: boolean, emphasis: Emphasis = 'bold'): string {
  return renderSpans([span(title, emphasis), span(more === '' ? '' : `  ${more}`, 'dim')], color)
}
