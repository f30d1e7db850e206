import { describe, expect, it } from '@jest/globals'

import { parseLine, terminalSvg } from './terminal-svg.mjs'

describe('terminalSvg', () => {
  it('keeps columns and colours', () => {
    expect(parseLine('\u001B[32m✓\u001B[0m ok\u001B[K')).toEqual([
      { text: '✓', code: '32' },
      { text: ' ok', code: '' },
    ])
    const svg = terminalSvg('\u001B[32m✓\u001B[0m ok  a', { title: 't' })
    expect(svg).toMatch(/<text x="16\.0" [^>]+ fill="#56d364">✓</)
    expect(svg).toMatch(/<text x="32\.8" [^>]+>ok</)
    expect(svg).toMatch(/<text x="66\.4" [^>]+>a</)
  })

  it('can hold any text', () => {
    const svg = terminalSvg('a <b> & "c"', { title: '<&>' })
    expect(svg).toContain('>a &lt;b&gt; &amp; &quot;c&quot;<')
    expect(svg).toContain('aria-label="&lt;&amp;&gt;"')
  })
})
