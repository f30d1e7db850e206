import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A standalone mesh of which there is one debug page alone. */
export class PageMesh {
  /** To run commands in. */
  readonly folder = mkdtempSync(join(tmpdir(), 'osm-page-mesh-'))
  readonly #server: Server

  private constructor(path: string, page: () => unknown) {
    this.#server = createServer((request, response) => {
      response.statusCode = request.url === path ? 200 : 404
      response.end(JSON.stringify(page()))
    })
  }

  /** @param path - of the page, with its query */
  static async open(path: string, page: () => unknown): Promise<PageMesh> {
    const mesh = new PageMesh(path, page)
    const server = mesh.#server
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const controllerUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    mkdirSync(join(mesh.folder, '.osm-standalone'))
    const state = { pid: process.pid, folder: mesh.folder, mode: 'explicit', controllerUrl }
    writeFileSync(join(mesh.folder, '.osm-standalone/mesh.json'), JSON.stringify(state))
    return mesh
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.folder, { recursive: true })
  }
}
