import type { SecretCredentialRef } from '@osm-ts/driver-api/toolkit'

import { egressCertSecret } from '../../resources/types.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import type { ProxyView } from '../proxy-view.js'
import { secretOf } from './tls.js'

/** Client certificates of Secrets that proxies show. */
export class CredentialTranslation {
  readonly #refs: MemoTable<readonly SecretCredentialRef[]>

  constructor(memo: Memo) {
    this.#refs = memo.table()
  }

  /** Sorted, each once. */
  translate({ proxy, reader }: ProxyView): readonly SecretCredentialRef[] {
    return this.#refs.get(proxy.upstreams ?? '', () => {
      const { list } = reader.members(proxy.upstreams, 'upstream')
      const found = list.flatMap(({ part: { tls } }) => (tls.mode === 'originate' ? (secretOf(tls) ?? []) : []))
      const byName = new Map(found.map((ref) => [egressCertSecret(ref), ref]))
      return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, ref]) => ref)
    })
  }
}
