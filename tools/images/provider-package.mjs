import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleModule } from '../lib/bundle.mjs'

// Parts of the SDK of Azure declare the other names of CommonJS themselves.
const head = `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)`

/**
 * Makes the package of an endpoints provider, as it is published, in a folder.
 * @param {'azure' | 'aws'} name
 * @param {string} folder
 * @returns {Promise<readonly string[]>} names of its files
 */
export async function makeProviderPackage(name, folder) {
  mkdirSync(folder, { recursive: true })
  await bundleModule(`packages/endpoints-${name}/src/index.ts`, join(folder, 'main.js'), [], head)
  const manifest = { name: `osm-endpoints-${name}`, version: '0.1.0', type: 'module', exports: './main.js' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  return ['main.js', 'package.json']
}
