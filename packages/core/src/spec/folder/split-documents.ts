/** One document of a YAML stream. */
export interface DocumentText {
  readonly text: string
  /** 1-based line of the first character. */
  readonly line: number
}

/**
 * Cuts a YAML stream at its document markers. Documents without content are left out.
 *
 * YAML forbids the markers at the start of a line inside any content, block scalars and quoted text included. Cutting
 * first keeps a document with an open quote from swallowing those that follow.
 */
export function splitDocuments(text: string): readonly DocumentText[] {
  const documents: DocumentText[] = []
  let start = 0
  let startLine = 1
  let started = false
  let hasContent = false
  let line = 1
  const cut = (end: number, next: number, nextLine: number): void => {
    if (hasContent) documents.push({ text: text.slice(start, end), line: startLine })
    start = next
    startLine = nextLine
    started = false
    hasContent = false
  }
  for (let offset = 0; offset < text.length; line += 1) {
    const lineEnd = text.indexOf('\n', offset)
    const end = lineEnd === -1 ? text.length : lineEnd + 1
    const content = text.slice(offset, end).trimEnd()
    if (/^\.\.\.(\s|$)/.test(content)) {
      cut(offset, end, line + 1)
    } else if (/^---(\s|$)/.test(content)) {
      // Directives such as %YAML stand before the marker of their document and stay with it.
      if (started || hasContent) cut(offset, offset, line)
      started = true
      hasContent = !/^---\s*(#.*)?$/.test(content)
    } else if (!hasContent) {
      hasContent = !/^\s*(#.*)?$/.test(content) && (started || !content.startsWith('%'))
    }
    offset = end
  }
  cut(text.length, text.length, line)
  return documents
}
