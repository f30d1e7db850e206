import { describe, expect, it } from '@jest/globals'
import { run } from '../lib/process.mjs'
import { GoProgress } from './go-progress.mjs'

describe('progress of a Go build', () => {
  it('names the package, their number and the share, and takes messages for nothing', () => {
    const progress = new GoProgress(['a', 'example.org/b', 'example.org/c', 'd'])
    expect(progress.describe()).toBe('preparing')
    for (const line of ['a', '# example.org/b', './b.go:1:1: undefined: x', 'example.org/b', 'go: downloading x v1'])
      progress.take(line)
    expect(progress.describe()).toBe('2 of 4 packages (50 %), now example.org/b,')
    expect(['a', './b.go:1:1: undefined: x'].map((line) => progress.isPackage(line))).toEqual([true, false])
  })

  it('comes from the lines of a program while it runs', async () => {
    const lines: string[] = []
    const script = 'process.stderr.write("a\\nb"); process.stderr.write("c\\nd"); process.exitCode = 3'
    const { code, stderr } = await run(process.execPath, ['-e', script], { onErrorLine: (line) => lines.push(line) })
    expect([code, stderr, lines]).toEqual([3, 'a\nbc\nd\n', ['a', 'bc', 'd']])
  })
})
