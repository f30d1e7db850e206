#!/usr/bin/env node
import v8 from 'node:v8'

import { boundHeapGrowth, nodeHost, runProgram } from '@osm-ts/program'

import { dashboardProgram } from './dashboard/deployment/dashboard-program.js'

// Meshes are read whole, and little of them stays.
boundHeapGrowth(v8, 25)
await runProgram(dashboardProgram(import.meta.dirname), nodeHost(process))
