// Credentials that the policy names besides the own certificate of the sidecar.

import { certificatesOf, shownCertificate } from './certificates.js'

/**
 * Reads those that came. One that cannot be read closes what needs it, and nothing else; the next poll says which it is.
 *
 * @returns {unknown} `byKey`, each `{ certificate, trusted, text }` with all that is public in `text`, or `{ headerValue }`; keys in `unusable`
 */
export function readFurther(credentials) {
  var byKey = {}
  var unusable = []
  Object.entries((credentials && credentials.further) || {}).forEach((entry) => {
    try {
      byKey[entry[0]] = read(entry[1])
    } catch (_) {
      // Nothing of what is in it may come to a log, not even by what is said about it.
      unusable.push(entry[0])
    }
  })
  return { byKey, unusable }
}

function read(material) {
  if (material.headerValue !== undefined) return { headerValue: material.headerValue }
  return {
    certificate: shownCertificate(material.chain, material.key),
    trusted: certificatesOf(material.roots.join('\n')),
    text: material.chain + material.roots.join('\n'),
  }
}
