import { readFileSync } from 'node:fs'
import { ApiServer, type ApiServerDescription } from './api-server.js'

/** Names the files that describe the API servers of the run, one for each worker. */
const descriptionsVariable = 'OSM_API_SERVER_DESCRIPTIONS'

/** The API server of this worker. Test files that it runs keep apart by using namespaces, meshes and cluster-wide names of their own. */
export async function sharedApiServer(): Promise<ApiServer> {
  const paths = process.env[descriptionsVariable]
  if (paths === undefined) throw new Error(`${descriptionsVariable} is not set; run npm run test:api`)
  const path = (JSON.parse(paths) as readonly string[])[Number(process.env.JEST_WORKER_ID) - 1]
  if (path === undefined) throw new Error(`worker ${process.env.JEST_WORKER_ID} has no API server`)
  return ApiServer.connect(JSON.parse(readFileSync(path, 'utf8')) as ApiServerDescription)
}
