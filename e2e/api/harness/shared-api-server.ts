import { readFileSync } from 'node:fs'
import { ApiServer, type ApiServerDescription } from './api-server.js'

/** Names the file by which test files find the API server of the run. */
const descriptionVariable = 'OSM_API_SERVER_DESCRIPTION'

/** The API server of the whole run. Test files keep apart by using namespaces, meshes and cluster-wide names of their own. */
export async function sharedApiServer(): Promise<ApiServer> {
  const path = process.env[descriptionVariable]
  if (path === undefined) throw new Error(`${descriptionVariable} is not set; run npm run test:api`)
  return ApiServer.connect(JSON.parse(readFileSync(path, 'utf8')) as ApiServerDescription)
}
