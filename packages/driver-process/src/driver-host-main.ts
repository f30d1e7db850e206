import { importDriver } from './driver/import-driver.js'
import { serveDriver } from './driver/serve-driver.js'
import { builtInProvider, importProvider, serveProvider } from './endpoints/serve-provider.js'

/**
 * The process of a loaded package: `node osm-driver-host.mjs <folder> <socket>` of a driver, `--endpoints-provider <folder>` or
 * `--built-in-endpoints-provider <name>` of an endpoints provider. It ends when its standard input does, so that it never outlives
 * anyone who has started it; what the package throws outside of a call ends it too, and it is started again.
 */
const exit = (code: number): void => process.exit(code)
const [first = '', second = ''] = process.argv.slice(2)
process.stdin.on('end', () => exit(0))
process.stdin.on('error', () => exit(0))
process.stdin.resume()
if (first === '--endpoints-provider') await serveProvider(importProvider(second), exit)
else if (first === '--built-in-endpoints-provider') await serveProvider(builtInProvider(second), exit)
else await serveDriver(second, importDriver(first))
