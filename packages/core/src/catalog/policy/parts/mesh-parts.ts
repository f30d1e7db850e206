import type { MeshPart, TrustPart } from '@osm-ts/driver-api/policy'

import { defineQuery, textKey } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { settingInputs, trustRoots } from '../../inputs/inputs.js'
import { keepPart, makePart, samePart, type PolicyPart } from './policy-part.js'

/** Where a proxy has its service certificate from. */
export type CertificateSource = 'mesh' | 'workload-api'

/** What peers are verified against, and where the proxy has its own certificate from. */
export const trustPart = defineQuery<CatalogState, CertificateSource, PolicyPart<TrustPart>>({
  name: 'trust-part',
  keyOf: textKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, source) =>
    makePart({
      kind: 'trust',
      id: 'trust',
      trustDomain: context.get(settingInputs.domains, '').trustDomain,
      roots: context.get(trustRoots, ''),
      ...context.get(settingInputs.tls, ''),
      alpn: 'osm',
      ...(source === 'mesh' ? {} : { serviceCredential: { kind: source } }),
    }),
})

/** Settings of every proxy. */
export const meshPart = defineQuery<CatalogState, '', PolicyPart<MeshPart>>({
  name: 'mesh-part',
  keyOf: textKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context) => makePart({ kind: 'mesh', id: 'mesh', ...context.get(settingInputs.mesh, '') }),
})
