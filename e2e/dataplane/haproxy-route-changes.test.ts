import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll } from '@jest/globals'

import { describeRouteChanges } from './support/corpus/describe-route-changes.js'
import { haproxyPackage } from './support/haproxy-package.js'

let folder: string | undefined

describeRouteChanges('haproxy', async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-haproxy-routes-'))
  return haproxyPackage(folder)
})

afterAll(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true })
})
