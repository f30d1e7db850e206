import type { CertificateProvider, SignedLeaf, SigningRequest } from '../../src/certificates/certificate-provider.js'
import { Certificate, type RootCertificate } from '../../src/certificates/certificate.js'
import type { Clock } from '../../src/certificates/clock.js'
import type { Authority } from '../../src/certificates/kinds.js'
import { settled } from './fake-clock.js'

/** Issues at once, unless told to hold or to fail. */
export class FakeProvider implements CertificateProvider {
  readonly name = 'fake'
  signsPublicKeys = true
  /** The root of either authority. */
  root: RootCertificate = rootOf('root chain')
  readonly requests: SigningRequest[] = []
  readonly #clock: Clock
  readonly #listeners = new Set<(authority: Authority) => void>()
  #held: (() => void)[] | undefined
  atOnce = 0
  mostAtOnce = 0
  failure: Error | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  hold(): void {
    this.#held ??= []
  }

  async letGo(): Promise<void> {
    const held = this.#held ?? []
    this.#held = undefined
    for (const go of held) go()
    await settled()
  }

  async sign(request: SigningRequest): Promise<SignedLeaf> {
    this.requests.push(request)
    this.atOnce += 1
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce)
    const serialNumber = String(this.requests.length)
    const issuingCA = this.root
    await new Promise<void>((resolve) => {
      if (this.#held === undefined) setImmediate(resolve)
      else this.#held.push(resolve)
    })
    this.atOnce -= 1
    if (this.failure !== undefined) throw this.failure
    return {
      chain: request.dnsNames.join(),
      root: issuingCA,
      notBefore: this.#clock.now(),
      expiration: this.#clock.now() + request.validityMs,
      serialNumber,
    }
  }

  faults(): readonly [] {
    return []
  }

  rootCertificate(): RootCertificate {
    return this.root
  }

  trustBundle(authority: Authority): readonly string[] {
    return [`new ${authority} root`, `old ${authority} root`]
  }

  onRootChange(listener: (authority: Authority) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Another root signs. */
  changeRoot(authority: Authority): void {
    this.root = rootOf(`${this.root.chain} and another`)
    this.changeTrust(authority)
  }

  /** Another root is trusted, and the same signs. */
  changeTrust(authority: Authority): void {
    for (const listener of this.#listeners) listener(authority)
  }

  get listeners(): number {
    return this.#listeners.size
  }
}

function rootOf(chain: string): RootCertificate {
  return new Certificate({
    kind: 'root',
    commonName: 'root',
    chain,
    notBefore: 0,
    expiration: Number.MAX_SAFE_INTEGER,
    serialNumber: '00',
  })
}
