import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import {
  headerName,
  hostName,
  literal,
  parameterExpression,
  quoted,
  sectionName,
  socketName,
  Unsayable,
} from './words.js'

/** What HAProxy's reader makes of a line with strong quotes and backslashes outside of them. */
function read(line: string): string {
  let text = ''
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? ''
    if (character === '\\') {
      at += 1
      text += line[at] ?? ''
    } else if (character === "'") {
      const end = line.indexOf("'", at + 1)
      text += line.slice(at + 1, end)
      at = end
    } else if (/[\s#"$]/.test(character)) throw new Error('the word ends early')
    else text += character
  }
  return text
}

describe('words of haproxy.cfg', () => {
  it('quoted text is read as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        // eslint-disable-next-line no-control-regex
        fc.pre(!/[\u0000-\u001f\u007f]/.test(text))
        expect(read(quoted(text))).toBe(text)
      }),
    )
  })

  it.each(['a\nb', 'a\rb', 'a\0', '\u007f', '\t'])('%j is not said', (text) => {
    expect(() => quoted(text)).toThrow(Unsayable)
  })

  it('literal text has no sample in it', () => {
    expect(read(literal('%[path] 100% %%'))).toBe('%%[path] 100%% %%%%')
    expect(read(literal(''))).toBe('%[str()]')
    expect(() => literal('a\nb')).toThrow(Unsayable)
  })

  it('names of parameters are expressions for themselves', () => {
    expect(parameterExpression('a.b+c%5B-~_')).toBe(String.raw`a\.b\+c%5B-~_`)
    for (const name of ['', 'a b', "a'", 'a)', 'a,', 'a|b', '(a', '[', 'a$', 'a\\', 'a=', 'a&'])
      expect(() => parameterExpression(name)).toThrow(Unsayable)
  })

  it('names of sections differ where ids do', () => {
    const id = fc
      .array(fc.constantFrom('a', '/', '|', '_', ':', '7', 'c', '.'), { maxLength: 6 })
      .map((letters) => letters.join(''))
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(sectionName('up', a) === sectionName('up', b)).toBe(a === b)
        expect(sectionName('up', a)).toMatch(/^[A-Za-z0-9_.:-]+$/)
      }),
    )
  })

  it('hosts, headers and addresses are such', () => {
    expect(hostName('Shop.Default')).toBe('shop.default')
    expect(headerName('X-User')).toBe('x-user')
    expect(socketName({ address: '10.0.0.1', port: 80 })).toBe('10.0.0.1:80')
    for (const host of ['a b', "a'", '-a', '', 'a)', 'a,b', '*.a']) expect(() => hostName(host)).toThrow(Unsayable)
    for (const name of ['a,b', "a'", 'a)', '', 'a b']) expect(() => headerName(name)).toThrow(Unsayable)
    for (const address of ['::1', '10.0.0', '1.2.3.400', '1.2.3.4 ssl'])
      expect(() => socketName({ address, port: 1 })).toThrow(Unsayable)
  })
})
