import type { Findings } from './findings.js'
import type { SidecarConfig } from './mesh-config.js'

/** Algorithm of the keys of sidecars. */
type KeyAlgorithm = 'ECDSA' | 'RSA'

interface Rule {
  /** True if sidecars can agree with this entry in the list. */
  readonly agrees: (entry: string) => boolean
  /** What the list lacks. */
  readonly needs: string
}

/**
 * What TLS 1.2 asks of lists beside the keys of sidecars. There the curves are for certificates too, not only for the exchange of keys, and suites name the
 * algorithm of the certificate. TLS 1.3 has its own suites, and agrees on signatures apart from curves.
 */
const rules: { readonly [A in KeyAlgorithm]: { readonly ecdhCurves: Rule; readonly cipherSuites: Rule } } = {
  ECDSA: {
    ecdhCurves: { agrees: (curve) => curve === 'P-256', needs: 'P-256, the curve of the certificates of sidecars' },
    cipherSuites: {
      agrees: (suite) => suite.includes('ECDHE-ECDSA-'),
      needs: 'a suite for the ECDSA certificates of sidecars, such as ECDHE-ECDSA-AES256-GCM-SHA384',
    },
  },
  RSA: {
    ecdhCurves: { agrees: (curve) => curve !== 'X25519MLKEM768', needs: 'a curve of TLS 1.2, such as P-256' },
    cipherSuites: {
      agrees: (entry) => suitesOf(entry).some((suite) => !suite.includes('-ECDSA-')),
      needs: 'a suite for the RSA certificates of sidecars, such as ECDHE-RSA-AES256-GCM-SHA384',
    },
  },
}

/** Lists of curves and suites by which sidecars can agree with each other. One by which they would refuse all traffic is left out as a whole. */
export function agreeableTls(sidecar: SidecarConfig, algorithm: KeyAlgorithm, findings: Findings): SidecarConfig {
  if (sidecar.tlsMaxProtocolVersion !== 'TLSv1_2') return sidecar
  const agreeable = (name: 'ecdhCurves' | 'cipherSuites'): readonly string[] => {
    const { agrees, needs } = rules[algorithm][name]
    const list = sidecar[name]
    if (list.length === 0 || list.some(agrees)) return list
    const message = `with TLS 1.2 at most, sidecars would refuse all traffic between them; the list is left out. It needs ${needs}, or allow TLS 1.3`
    findings.report('OSM_CONFIG_TLS', `spec.sidecar.${name}`, message)
    return []
  }
  return { ...sidecar, ecdhCurves: agreeable('ecdhCurves'), cipherSuites: agreeable('cipherSuites') }
}

/** Of suites in brackets the client chooses. */
function suitesOf(entry: string): readonly string[] {
  return entry.replace(/^\[|\]$/g, '').split('|')
}
