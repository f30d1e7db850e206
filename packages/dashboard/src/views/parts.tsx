import type { ObjectOrigin, ObjectRef } from '@osm-ts/core'
import type { ComponentChildren, JSX } from 'preact'

/** A word with a colour that says the same. */
export function Mark({
  tone,
  children,
}: {
  readonly tone: 'good' | 'warn' | 'bad'
  readonly children: ComponentChildren
}): JSX.Element {
  return <span class={`mark ${tone}`}>{children}</span>
}

/** What is shown until the server has said something. */
export function Waiting(): JSX.Element {
  return <p class="soft">Reading the mesh …</p>
}

/** What a view is narrowed by: a word, more that a view has of its own, and whether only what has problems is shown. */
export function FilterBar({
  search,
  onSearch,
  onlyTroubled,
  onOnlyTroubled,
  children,
}: {
  readonly search: string
  readonly onSearch: (search: string) => void
  readonly onlyTroubled: boolean
  readonly onOnlyTroubled: (onlyTroubled: boolean) => void
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="bar">
      <label>
        Search
        <input type="search" value={search} onInput={({ currentTarget }) => onSearch(currentTarget.value)} />
      </label>
      {children}
      <label class="choice">
        <input
          type="checkbox"
          checked={onlyTroubled}
          onChange={({ currentTarget }) => onOnlyTroubled(currentTarget.checked)}
        />
        only problems
      </label>
    </div>
  )
}

/** A table whose first column names its rows. */
export function Table({
  caption,
  columns,
  children,
}: {
  readonly caption: string
  readonly columns: readonly string[]
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div class="sheet" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

/** `Kind namespace/name field`. */
export function objectText(object: ObjectRef | undefined, field: string | undefined): string {
  if (object === undefined) return field ?? ''
  const name = object.namespace === '' ? object.name : `${object.namespace}/${object.name}`
  return [object.kind, name, field ?? ''].filter((word) => word !== '').join(' ')
}

/** `file:line:column`, or the version of the object in the cluster. */
export function placeText(origin: ObjectOrigin | undefined): string {
  if (origin === undefined) return ''
  return origin.kind === 'file'
    ? `${origin.file}:${origin.line}:${origin.column}`
    : `resource version ${origin.resourceVersion}`
}
