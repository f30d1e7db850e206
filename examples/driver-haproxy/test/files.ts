import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { testAuthority } from '@osm-ts/driver-testkit'

import { fileNames, type HaproxyDocument } from '../src/translate/document.js'

/** The HAProxy that tests run: HAPROXY_BIN, or that of the Debian package. */
export function haproxyBinary(): string {
  const named = process.env['HAPROXY_BIN'] ?? '/usr/sbin/haproxy'
  if (!existsSync(named))
    throw new Error(`there is no HAProxy at ${named}: install Debian package haproxy, or set HAPROXY_BIN`)
  return named
}

/** A folder that is gone after `use`. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-haproxy-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Writes a document where HAProxy reads it, with a certificate. */
export async function writeDocument(folder: string, { config, files }: HaproxyDocument): Promise<string> {
  const authority = testAuthority('services')
  const { chain, privateKey } = authority.issue('a.default.cluster.local')
  const path = join(folder, 'haproxy.cfg')
  await writeFile(path, config)
  for (const { name, content } of files)
    await writeFile(join(folder, name), name === fileNames.roots ? authority.certificate : content)
  await writeFile(join(folder, fileNames.certificate), `${chain}${privateKey}`, { mode: 0o600 })
  return path
}
