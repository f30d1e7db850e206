#!/usr/bin/env node
import { Buffer } from 'node:buffer'
import v8 from 'node:v8'

import { boundHeapGrowth, nodeHost, runProgram } from '@osm-ts/program'

import { controllerProgram } from './controller-program.js'

/** A start keeps most of what it allocates: collections in between would only copy it. */
const START_UP_MS = 10_000

// A small buffer keeps all of the piece of memory that it was cut from. Node 24 cuts from pieces of 64 KiB, one of which each connection would keep.
Buffer.poolSize = 8_192
setTimeout(() => boundHeapGrowth(v8, 50), START_UP_MS).unref()
await runProgram(controllerProgram, nodeHost(process))
