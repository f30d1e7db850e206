import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

import { OpensslAuthority } from '../../core/test/certificates/openssl-authority.js'

/** What the stand-in knows of a token. */
interface Token {
  expires: number
  readonly renewable: boolean
}

/** An answer that a test gives instead. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const MOUNT = 'pki'
const ROLE = 'openservicemesh'
const SIGN_FIELDS = new Set([
  'csr',
  'format',
  'ttl',
  'common_name',
  'alt_names',
  'uri_sans',
  'ip_sans',
  'exclude_cn_from_sans',
])

/**
 * A server with the part of Vault's HTTP API that the mesh uses, as its documentation describes it. It is strict: what the documentation does not have is
 * refused. OpenSSL signs.
 */
export class VaultStandIn {
  readonly #authority: OpensslAuthority
  readonly #server: Server
  readonly #tokens = new Map<string, Token>()
  readonly #scheme: string
  /** Secrets that were sent, for tests that look for them elsewhere. */
  readonly secrets = new Set<string>()
  readonly paths: string[] = []
  isSealed = false
  /** Of the role. */
  maxTtlMs = Number.POSITIVE_INFINITY
  allowsUris = true
  namespace: string | undefined
  leaseSeconds = 3600
  /** Instead of an answer. */
  intercept: ((path: string) => Answer | undefined | 'hang') | undefined
  readonly kubernetes = { role: 'osm-controller', jwt: '' }
  readonly appRole = { roleId: '', secretId: '' }

  private constructor(authority: OpensslAuthority, tls: { readonly cert: string; readonly key: string } | undefined) {
    this.#authority = authority
    this.#scheme = tls === undefined ? 'http' : 'https'
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#handle(request, response)
    }
    this.#server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle)
  }

  /** @param host - address to listen on; only of this machine if absent */
  static async start(tls?: { readonly cert: string; readonly key: string }, host = '127.0.0.1'): Promise<VaultStandIn> {
    const server = new VaultStandIn(await OpensslAuthority.start(), tls)
    server.#server.listen(0, host)
    await once(server.#server, 'listening')
    return server
  }

  get origin(): string {
    const { address, port } = this.#server.address() as AddressInfo // it listens on a port
    return `${this.#scheme}://${address}:${port}`
  }

  issueToken(seconds: number, renewable = true): string {
    const text = `hvs.${randomUUID()}`
    this.#tokens.set(text, { expires: Date.now() + seconds * 1000, renewable })
    this.secrets.add(text)
    return text
  }

  revoke(token: string): void {
    this.#tokens.delete(token)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await this.#authority.stop()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/^\/v1\//, '')
    this.paths.push(`${request.method ?? ''} ${path}`)
    const intercepted = this.intercept?.(path)
    if (intercepted === 'hang') return
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer) // of a stream without encoding
    const { status, body, headers } =
      intercepted ?? (await this.#answer(request, path, Buffer.concat(chunks).toString()))
    response.writeHead(status, {
      'content-type': typeof body === 'string' ? 'application/pem-certificate-chain' : 'application/json',
      ...headers,
    })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

  async #answer(request: IncomingMessage, path: string, text: string): Promise<Answer> {
    if (this.isSealed) return errors(503, 'Vault is sealed')
    if (request.headers['x-vault-namespace'] !== this.namespace) return errors(404, 'no handler for route')
    if (request.headers['x-vault-request'] !== 'true') return errors(412, 'missing X-Vault-Request header')
    const body = text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, string>>)
    const route = `${request.method ?? ''} ${path}`
    if (route === `GET ${MOUNT}/ca_chain`) return { status: 200, body: await this.#authority.caCertificates() }
    if (route === `GET ${MOUNT}/ca/pem`)
      return {
        status: 200,
        body: (await this.#authority.caCertificates()).split(/(?<=END CERTIFICATE-----\n)/)[0] ?? '',
      }
    if (route === 'POST auth/kubernetes/login') return this.#kubernetesLogin(body)
    if (route === 'POST auth/approle/login') return this.#appRoleLogin(body)
    const token = request.headers['x-vault-token']
    const known = typeof token === 'string' ? this.#tokens.get(token) : undefined
    if (typeof token !== 'string' || known === undefined || known.expires <= Date.now())
      return errors(403, 'permission denied')
    switch (route) {
      case 'GET auth/token/lookup-self':
        return {
          status: 200,
          body: { data: { ttl: Math.ceil((known.expires - Date.now()) / 1000), renewable: known.renewable } },
        }
      case 'POST auth/token/renew-self':
        if (!known.renewable) return errors(400, 'lease is not renewable')
        known.expires = Date.now() + this.leaseSeconds * 1000
        return {
          status: 200,
          body: { auth: { client_token: token, lease_duration: this.leaseSeconds, renewable: true } },
        }
      case `POST ${MOUNT}/sign/${ROLE}`:
        return this.#sign(body)
      default:
        return errors(404, `no handler for route ${JSON.stringify(path)}`)
    }
  }

  #kubernetesLogin({ role, jwt }: Readonly<Record<string, string>>): Answer {
    this.secrets.add(jwt ?? '')
    if (role !== this.kubernetes.role) return errors(400, `invalid role name ${JSON.stringify(role)}`)
    return jwt === this.kubernetes.jwt ? this.#loggedIn() : errors(403, 'permission denied')
  }

  #appRoleLogin({ role_id: role, secret_id: secret }: Readonly<Record<string, string>>): Answer {
    this.secrets.add(secret ?? '')
    return role === this.appRole.roleId && secret === this.appRole.secretId
      ? this.#loggedIn()
      : errors(400, 'invalid role or secret ID')
  }

  #loggedIn(): Answer {
    const token = this.issueToken(this.leaseSeconds)
    return { status: 200, body: { auth: { client_token: token, lease_duration: this.leaseSeconds, renewable: true } } }
  }

  async #sign(body: Readonly<Record<string, string>>): Promise<Answer> {
    const foreign = Object.keys(body).find((field) => !SIGN_FIELDS.has(field))
    if (foreign !== undefined) return errors(400, `unknown field ${foreign}`)
    const { csr = '', ttl = '' } = body
    if (!csr.startsWith('-----BEGIN CERTIFICATE REQUEST-----'))
      return errors(400, 'certificate request could not be parsed')
    const [, seconds] = /^(\d+)s$/.exec(ttl) ?? []
    if (seconds === undefined) return errors(400, `invalid ttl ${ttl}`)
    if (!this.allowsUris && body.uri_sans !== undefined)
      return errors(400, 'URI Subject Alternative Names are not allowed in this role, but were provided via the API')
    const validityMs = Math.min(Number(seconds) * 1000, this.maxTtlMs)
    const chain = await this.#authority.signRequest(csr, validityMs)
    const [certificate = '', ...others] = chain.match(/-----BEGIN[^-]+-----[^-]+-----END CERTIFICATE-----/g) ?? []
    return {
      status: 200,
      body: { data: { certificate, issuing_ca: others[0], ca_chain: others, serial_number: '00' } },
    }
  }
}

function errors(status: number, ...messages: readonly string[]): Answer {
  return { status, body: { errors: messages } }
}
