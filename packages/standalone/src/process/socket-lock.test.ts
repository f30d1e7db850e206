import { describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { lockFolder } from './socket-lock.js'

const folder = temporaryFolders()

describe('lockFolder', () => {
  it('lets one in at a time', async () => {
    const state = folder()
    const unlock = await lockFolder(state)
    await expect(lockFolder(state)).rejects.toMatchObject({
      code: 'OSM_STANDALONE_RUNNING',
      message: expect.stringContaining(state),
    })
    const other = await lockFolder(folder())
    await unlock()
    await (
      await lockFolder(state)
    )()
    await other()
  })
})
