import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll } from '@jest/globals'

import { createHaproxyDriver } from '../../examples/driver-haproxy/src/driver.js'
import { haproxyPackage } from './support/haproxy-package.js'
import type { LoadedClass } from './support/mesh.js'
import { describeScenarios } from './support/scenario/describe-scenarios.js'
import { localRunner } from './support/scenario/local-runner.js'

/** Against hanging only. */
const TIMEOUT_MS = 120_000

let folder: string
let loaded: Promise<LoadedClass>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-haproxy-transparent-'))
  loaded = haproxyPackage(folder)
  await loaded
}, TIMEOUT_MS)
afterAll(() => rm(folder, { recursive: true, force: true }))

describeScenarios(localRunner('transparent', createHaproxyDriver(), () => loaded))
