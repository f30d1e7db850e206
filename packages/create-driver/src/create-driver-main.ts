#!/usr/bin/env node
import { parseArgs } from 'node:util'

import { NotScaffolded, scaffold } from './scaffold.js'

const USAGE = `create-driver <folder> [--class <sidecar class>]

Writes the package of a new sidecar driver into the folder. The class is that of the folder's name without "driver-" unless --class says another.
`

try {
  const options = { class: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const [folder] = positionals
  if (values.help === true) process.stdout.write(USAGE)
  else if (folder === undefined || positionals.length > 1) throw new NotScaffolded(`name one folder\n\n${USAGE}`)
  else {
    const paths = scaffold({ folder, ...(values.class === undefined ? {} : { sidecarClass: values.class }) })
    process.stdout.write(
      `${paths.map((path) => `${folder}/${path}\n`).join('')}\nNext:\n  cd ${folder}\n  npm install\n  npm test\n`,
    )
  }
} catch (error) {
  process.stderr.write(`create-driver: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 2
}
