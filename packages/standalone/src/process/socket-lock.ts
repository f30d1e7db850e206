import { createHash } from 'node:crypto'
import { realpathSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { OsmError } from '@osm-ts/driver-api'

import type { StandaloneErrorCode } from '../errors.js'

/**
 * Makes sure that one mesh at a time uses a state folder: a socket with a name made from the folder's real path.
 *
 * On Linux the name is an abstract one, which disappears with the process. Elsewhere it is a file, which may stay behind; whether
 * anybody listens on it tells the difference.
 *
 * @returns what gives the folder free again
 * @throws OsmError OSM_STANDALONE_RUNNING
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const name = `osm-ts-${createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 40)}`
  const isAbstract = process.platform === 'linux'
  const path = isAbstract ? `\0${name}` : join(tmpdir(), `${name}.sock`)
  let server = await trySocketLock(path)
  if (server === undefined && !isAbstract && !(await isAnswered(path))) {
    rmSync(path, { force: true })
    server = await trySocketLock(path)
  }
  if (server === undefined) {
    throw new OsmError<StandaloneErrorCode>(
      'OSM_STANDALONE_RUNNING',
      `a mesh runs with the state folder ${folder} already; stop it, or choose another state folder`,
      { details: { stateFolder: folder } },
    )
  }
  const held = server
  return () => new Promise((resolve) => held.close(() => resolve()))
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/**
 * Takes a lock by listening on a socket of this path. The kernel frees an abstract socket when its process ends, in whatever way.
 *
 * @returns the server to close when the lock is released; undefined while another holder listens
 */
export function trySocketLock(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    // Connections are closed at once: the name is all that counts.
    const server = createServer((socket) => socket.destroy())
    server.unref()
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    )
    server.listen(path, () => resolve(server))
  })
}
