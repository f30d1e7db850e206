import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'

import { encodedResource } from '../../resources/encoded-resource.js'
import type { EncodedResource } from '../../resources/types.js'
import { encode } from '../encoding/encode.js'
import { isHttp } from '../routing/http-protocol.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import { names } from '../encoding/names.js'
import type { Served } from '../policy-reader.js'
import type { ProxyView } from '../proxy-view.js'
import { callersValidation } from './tls.js'

/** Who may call the TCP ports of proxies. */
export class CallersTranslation {
  readonly #secrets: MemoTable<EncodedResource>

  constructor(memo: Memo) {
    this.#secrets = memo.table()
  }

  translate({ proxy, served, settings }: ProxyView): readonly EncodedResource[] {
    return served
      .filter(({ part }) => !isHttp(part.protocol))
      .map((service) => {
        const key = JSON.stringify([service.binding.part, proxy.trust])
        return this.#secrets.get(key, () => callersSecret(service, settings))
      })
  }
}

function callersSecret({ part, callers, sources }: Served, { trust }: ProxyView['settings']): EncodedResource {
  const name = names.callersSecret(part.id)
  const value = encode(SecretSchema, {
    name,
    type: { case: 'validationContext', value: callersValidation(callers, trust) },
  })
  return encodedResource(name, value, sources)
}
