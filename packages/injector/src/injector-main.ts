#!/usr/bin/env node
import v8 from 'node:v8'

import { boundHeapGrowth, nodeHost, runProgram } from '@osm-ts/program'

import { injectorProgram } from './injector-program.js'

boundHeapGrowth(v8)
await runProgram(injectorProgram, nodeHost(process))
