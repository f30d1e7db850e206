import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as tlsConnect } from 'node:tls'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { injectorContext, testAuthority } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { envoyBinary } from './support/mesh.js'

const TLS_CONTEXT = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext'
const ECHO = 'type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo'

/** The volume of a pod as kubelets write it: files are links into a folder, and all of them change when the link to that folder does. */
describe('a proxy certificate that a kubelet renews', () => {
  const authority = testAuthority('control-plane')
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-renewal-'))
  })
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true })
  })

  const put = (version: string, files: Readonly<Record<string, string>>): void => {
    mkdirSync(join(folder, version))
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, version, name), content)
    symlinkSync(version, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  }

  it('is used by Envoy with its new key, without a restart', async () => {
    const { files } = await createEnvoyDriver().patch(injectorContext())
    const texts = new Map<string, string>()
    const paths = { key: '', chain: '', secret: '' }
    for (const { path, content } of files) {
      if ('from' in content) {
        if (content.from === 'bootstrap.key') paths.key = path
        if (content.from === 'bootstrap.chain') paths.chain = path
        continue
      }
      const pieces = typeof content.text === 'string' ? [content.text] : content.text
      const text = pieces
        .map((piece) => (typeof piece === 'string' ? piece : 'path' in piece ? join(folder, piece.path) : ''))
        .join('')
      texts.set(path, text)
      if (text.includes('"tls_sds"') && path.includes('secret')) paths.secret = path
    }
    const version = (commonName: string): Readonly<Record<string, string>> => {
      const { chain, privateKey } = authority.issue(commonName, { dns: [commonName] })
      return { [paths.key]: privateKey, [paths.chain]: chain, [paths.secret]: texts.get(paths.secret) ?? '' }
    }
    put('..first', version('first.example'))
    for (const name of Object.values(paths)) symlinkSync(join('..data', name), join(folder, name))
    const address = { socket_address: { address: '127.0.0.1', port_value: 0 } }
    const secret = { name: 'tls_sds', sds_config: { path_config_source: { path: join(folder, paths.secret) } } }
    const config = {
      admin: { address },
      node: { id: 'renewal', cluster: 'renewal' },
      static_resources: {
        listeners: [
          {
            name: 'tls',
            address,
            filter_chains: [
              {
                transport_socket: {
                  name: 'tls',
                  typed_config: {
                    '@type': TLS_CONTEXT,
                    common_tls_context: { tls_certificate_sds_secret_configs: [secret] },
                  },
                },
                filters: [{ name: 'echo', typed_config: { '@type': ECHO } }],
              },
            ],
          },
        ],
      },
    }
    const [configFile, adminFile] = [join(folder, 'envoy.json'), join(folder, 'admin')]
    writeFileSync(configFile, JSON.stringify(config))
    const args = ['--config-path', configFile, '--admin-address-path', adminFile, '--disable-hot-restart']
    const envoy = spawn(envoyBinary(), args, { stdio: 'ignore' })
    const ended = once(envoy, 'exit')
    try {
      await eventually(
        () => Promise.resolve(existsSync(adminFile)),
        (isThere) => isThere,
        { what: 'the administration interface' },
      )
      const port = await eventually(
        async () => {
          const url = `http://${readFileSync(adminFile, 'utf8').trim()}/listeners?format=json`
          const { listener_statuses: [listener] = [] } = (await (await fetch(url)).json()) as {
            readonly listener_statuses?: readonly {
              readonly local_address: { readonly socket_address: { readonly port_value: number } }
            }[]
          }
          return listener?.local_address.socket_address.port_value ?? 0
        },
        (found) => found > 0,
        { what: 'the port of the listener' },
      )
      const shown = (): Promise<string> => commonNameAt(port)
      await eventually(shown, (name) => name === 'first.example', { what: 'the first certificate' })
      put('..second', version('second.example'))
      await eventually(shown, (name) => name === 'second.example', { what: 'the renewed certificate' })
      expect(envoy.exitCode).toBeNull()
    } finally {
      envoy.kill('SIGKILL')
      await ended
    }
  })
})

/** Of the certificate that a server shows, which proves its key in the handshake; or why there is none. */
function commonNameAt(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = tlsConnect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    socket.on('secureConnect', () => {
      const { subject } = socket.getPeerCertificate()
      socket.destroy()
      resolve(String(subject.CN))
    })
    socket.on('error', (error: Error) => resolve(error.message))
  })
}
