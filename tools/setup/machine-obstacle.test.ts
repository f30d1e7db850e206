import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../testing/temporary-folder.js'
import { controlGroupObstacle } from './machine-obstacle.mjs'

const makeFolder = temporaryFolders()

describe('controlGroupObstacle', () => {
  it('finds nothing where a group can be made in every hierarchy, and leaves none', () => {
    const root = makeFolder({ 'cpu/tasks': '', 'memory/tasks': '' })
    expect(controlGroupObstacle(root)).toBeUndefined()
    // What was made is gone: it would be there already.
    expect(controlGroupObstacle(root)).toBeUndefined()
  })

  it('names a hierarchy that takes none', () => {
    expect(controlGroupObstacle('/proc')).toMatch(
      /^this environment may not create control groups in \/proc\/\w+ \(\w+\)$/,
    )
  })

  it('says that there are no groups at all', () => {
    const root = makeFolder()
    expect(controlGroupObstacle(root)).toBe(`there are no control groups in ${root}`)
    const missing = join(root, 'missing')
    expect(controlGroupObstacle(missing)).toBe(`there are no control groups in ${missing}`)
  })

  it('takes the only hierarchy of the newer kind for all', () => {
    expect(controlGroupObstacle(makeFolder({ 'cgroup.controllers': 'cpu memory' }))).toBeUndefined()
  })
})
