import { describe, expect, it } from '@jest/globals'
import { goObstacle, parseGoVersion } from './go.mjs'

function go(output: string | undefined) {
  return () => Promise.resolve({ code: output === undefined ? 127 : 0, stdout: Buffer.from(output ?? '') })
}

describe('goObstacle', () => {
  it.each([
    'go version go1.24.2 linux/amd64',
    'go version go1.21 darwin/arm64',
    'go version devel go1.27-c0ffee linux/amd64',
  ])('finds none with %s', async (output) => {
    await expect(goObstacle(go(output))).resolves.toBeUndefined()
  })

  it.each([
    [undefined, 'there is no Go compiler on the PATH'],
    ['go version go1.19.8 linux/amd64\n', 'is 1.19; 1.21 or newer is required'],
    ['gofer 3\n', '"go version" says "gofer 3", which names no version'],
  ])('says what is wrong with %j', async (output, message) => {
    await expect(goObstacle(go(output))).resolves.toContain(message)
  })
})

describe('parseGoVersion', () => {
  it('compares numbers, not text', () => {
    expect(parseGoVersion('go version go1.9 linux/amd64')).toEqual({ major: 1, minor: 9 })
    expect(parseGoVersion('go version go1.100.1 linux/amd64')).toEqual({ major: 1, minor: 100 })
  })
})
