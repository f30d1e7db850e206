import { importDriver } from './driver/import-driver.js'
import { serveDriver } from './driver/serve-driver.js'

/**
 * The process of a loaded driver package: `node osm-driver-host.mjs <folder> <socket>`. It ends when its standard input does, so that it never outlives
 * anyone who has started it; what the driver throws outside of a call ends it too, and it is started again.
 */
const [folder = '', socket = ''] = process.argv.slice(2)
process.stdin.on('end', () => process.exit(0))
process.stdin.on('error', () => process.exit(0))
process.stdin.resume()
await serveDriver(socket, importDriver(folder))
