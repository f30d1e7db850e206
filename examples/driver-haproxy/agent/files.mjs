import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Name of the configuration in the folder of the sidecar. */
export const CONFIG = 'haproxy.cfg'
/** Certificate and key of the identity, as the configuration names them. */
export const CERTIFICATE = 'service.pem'

/**
 * What the server sends: see `HaproxyDocument` in src/translate/document.ts, with its revision and the certificate.
 * @typedef {{ readonly address: string, readonly port: number, readonly weight: number }} Endpoint
 * @typedef {{ readonly section: string, readonly server: string, readonly endpoint?: Endpoint }} Slot
 * @typedef {{ readonly name: string, readonly content: string, readonly live?: boolean }} ConfigFile
 * @typedef {{
 *   readonly revision: string, readonly layout: string, readonly access: readonly string[], readonly withdrawalMs: number, readonly config: string,
 *   readonly slots: readonly Slot[], readonly files: readonly ConfigFile[], readonly certificate: string
 * }} Document
 */

/**
 * Writes everything that HAProxy reads. Each file is there as a whole or not at all, and no one else reads it.
 * @param {string} folder
 * @param {Document} document
 */
export async function writeFiles(folder, { config, files, certificate }) {
  const all = [...files, { name: CERTIFICATE, content: certificate }, { name: CONFIG, content: config }]
  for (const { name, content } of all) {
    // Names come over the network: they are names in this folder and nothing else.
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) throw new Error(`${JSON.stringify(name)} is not a name of a file`)
    const path = join(folder, name)
    await writeFile(`${path}.new`, content, { mode: 0o600 })
    await rename(`${path}.new`, path)
  }
}
