import { describe, expect, it } from '@jest/globals'
import { runTool } from './run-tool.js'

describe('runTool', () => {
  it('gives what the program says, and gives it its input', async () => {
    expect(await runTool('cat', [], { input: 'words' })).toBe('words')
  })

  it('passes arguments as they are: there is no shell', async () => {
    expect(await runTool('echo', ['$HOME; echo `id` "a  b"'])).toBe('$HOME; echo `id` "a  b"\n')
  })

  it('fails with what the program said', async () => {
    await expect(runTool('ls', ['/no/such/folder'])).rejects.toMatchObject({
      code: 'OSM_NETNS_COMMAND',
      message: expect.stringMatching(/^ls \/no\/such\/folder failed: .*No such file/),
    })
  })

  it('does not mind a program that leaves its input unread', async () => {
    expect(await runTool('true', [], { input: 'x'.repeat(1 << 20) })).toBe('')
  })

  it('says which program is missing', async () => {
    await expect(runTool('no-such-program', [])).rejects.toMatchObject({ code: 'OSM_NETNS_UNSUPPORTED' })
  })

  it('starts nothing once it was told to stop', async () => {
    await expect(runTool('true', [], { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
  })
})
