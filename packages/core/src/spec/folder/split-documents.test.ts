import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parseAllDocuments } from 'yaml'

import { splitDocuments } from './split-documents.js'

const texts = (text: string): readonly string[] => splitDocuments(text).map((document) => document.text)

describe('splitDocuments', () => {
  it('cuts at markers and counts lines', () => {
    expect(splitDocuments('# head\n---\na: 1\n---\n\n---\nb: 2\n...\n# tail\n---\nc: 3')).toEqual([
      { text: '# head\n---\na: 1\n', line: 1 },
      { text: '---\nb: 2\n', line: 6 },
      { text: '# tail\n---\nc: 3', line: 9 },
    ])
  })

  it('leaves out documents without content', () => {
    expect(texts('')).toEqual([])
    expect(texts('---\n---\n# only a comment\n---\n')).toEqual([])
  })

  it('keeps directives with their document and content on the line of the marker', () => {
    expect(texts('%YAML 1.2\n---\na: 1\n')).toEqual(['%YAML 1.2\n---\na: 1\n'])
    expect(texts('a: 1\n--- {b: 2}\n')).toEqual(['a: 1\n', '--- {b: 2}\n'])
  })

  it('does not take for a marker what is none', () => {
    expect(texts('a: |\n  ---\n  b\n---x: 1\n')).toHaveLength(1)
    expect(texts('----\n')).toHaveLength(1)
  })

  it('keeps an open quote from swallowing what follows', () => {
    expect(texts('a: "open\n---\nb: 2\n')).toEqual(['a: "open\n', '---\nb: 2\n'])
  })

  it('reads line ends of Windows', () => {
    expect(texts('a: 1\r\n---\r\nb: 2\r\n')).toEqual(['a: 1\r\n', '---\r\nb: 2\r\n'])
  })

  it('finds the documents that the YAML reader finds, and loses no character of their lines', () => {
    const line = fc.constantFrom(
      '---',
      '--- # x',
      'a: 1',
      'b:',
      '  c: 2',
      '# comment',
      '',
      '...',
      '- d',
      'e: |',
      '  ---',
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        const text = `${lines.join('\n')}\n`
        const expected = parseAllDocuments(text)
        const documents = Array.isArray(expected) ? expected : []
        fc.pre(documents.every(({ errors }) => errors.length === 0))
        const values = documents.map((document) => document.toJS() as unknown).filter((value) => value !== null)
        const found = splitDocuments(text).flatMap((document) => {
          const [parsed] = parseAllDocuments(document.text)
          const value: unknown = parsed?.toJS()
          return value === null || value === undefined ? [] : [value]
        })
        expect(found).toEqual(values)
        for (const { text: part, line: start } of splitDocuments(text))
          expect(
            text
              .split('\n')
              .slice(start - 1)
              .join('\n')
              .startsWith(part),
          ).toBe(true)
      }),
    )
  })
})
