import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { SigningRequest } from '../../src/certificates/certificate-provider.js'
import type { RemoteAuthority } from '../../src/certificates/remote-provider.js'

const run = promisify(execFile)

const CONFIG = `
[ca]
default_ca = mesh
[mesh]
dir = .
database = index.txt
new_certs_dir = .
rand_serial = yes
certificate = intermediate.crt
private_key = intermediate.key
default_md = sha256
policy = any
copy_extensions = copyall
x509_extensions = leaf
unique_subject = no
[any]
commonName = optional
[leaf]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
[top]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
[middle]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, keyCertSign
[req]
distinguished_name = name
[name]
`

/** An authority that OpenSSL's command line makes: a root, an intermediate that signs, and nothing of ours. */
export class OpensslAuthority implements RemoteAuthority {
  readonly name = 'openssl'
  readonly #folder: string
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** @param nameConstraints - of the intermediate, as OpenSSL reads them */
  static async start(nameConstraints?: string): Promise<OpensslAuthority> {
    const authority = new OpensslAuthority(await mkdtemp(join(tmpdir(), 'osm-openssl-')))
    const constraints = nameConstraints === undefined ? '' : `nameConstraints = critical, ${nameConstraints}\n`
    await authority.#write(
      'ca.cnf',
      CONFIG.replace('[middle]\n', (section) => `${section}${constraints}`),
    )
    await authority.#write('index.txt', '')
    for (const [name, extensions] of [
      ['root', 'top'],
      ['intermediate', 'middle'],
    ] as const) {
      await authority.#openssl('ecparam', '-name', 'secp384r1', '-genkey', '-noout', '-out', `${name}.key`)
      await authority.#openssl(
        'req',
        '-new',
        '-config',
        'ca.cnf',
        '-key',
        `${name}.key`,
        '-subj',
        `/CN=${name}`,
        '-out',
        `${name}.csr`,
      )
      const signer =
        name === 'root' ? ['-signkey', 'root.key'] : ['-CA', 'root.crt', '-CAkey', 'root.key', '-CAcreateserial']
      await authority.#openssl(
        'x509',
        '-req',
        '-in',
        `${name}.csr`,
        ...signer,
        '-days',
        '365',
        '-extfile',
        'ca.cnf',
        '-extensions',
        extensions,
        '-out',
        `${name}.crt`,
      )
    }
    return authority
  }

  /** One after the other: the index of an authority is a file. */
  async sign(request: SigningRequest): Promise<string> {
    return this.signRequest(request.csr(), request.validityMs)
  }

  async signRequest(csr: string, validityMs: number): Promise<string> {
    const work = this.#turn.then(() => this.#sign(csr, validityMs))
    this.#turn = work.catch(() => undefined)
    return work
  }

  async caCertificates(): Promise<string> {
    return (await this.#read('intermediate.crt')) + (await this.#read('root.crt'))
  }

  /** The request as OpenSSL reads it, after it has verified the signature. */
  async describe(csr: string): Promise<string> {
    await this.#write('described.csr', csr)
    return this.#openssl('req', '-in', 'described.csr', '-verify', '-noout', '-text')
  }

  /** Whether OpenSSL takes the certificate that was signed last. */
  async accepts(): Promise<boolean> {
    const args = ['verify', '-CAfile', 'root.crt', '-untrusted', 'intermediate.crt', 'leaf.crt']
    return this.#openssl(...args).then(
      () => true,
      () => false,
    )
  }

  async stop(): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }

  async #sign(csr: string, validityMs: number): Promise<string> {
    await this.#write('leaf.csr', csr)
    const [start, end] = [Date.now() - 30_000, Date.now() + validityMs].map(timeOf)
    await this.#openssl(
      'ca',
      '-batch',
      '-notext',
      '-config',
      'ca.cnf',
      '-startdate',
      start ?? '',
      '-enddate',
      end ?? '',
      '-in',
      'leaf.csr',
      '-out',
      'leaf.crt',
    )
    return (await this.#read('leaf.crt')) + (await this.#read('intermediate.crt'))
  }

  async #openssl(...options: readonly string[]): Promise<string> {
    const { stdout } = await run('openssl', [...options], { cwd: this.#folder, timeout: 120_000 })
    return stdout
  }

  async #write(name: string, content: string): Promise<void> {
    await writeFile(join(this.#folder, name), content)
  }

  async #read(name: string): Promise<string> {
    return readFile(join(this.#folder, name), 'utf8')
  }
}

/** As `openssl ca` reads it. */
function timeOf(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace(/\D/g, '')}Z`
}
