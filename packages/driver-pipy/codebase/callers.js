// Who a peer is, from its certificate alone, and whether it is among those that may call.

/**
 * The principal of a certificate: its common name, if that is among its DNS names too. Certificates of sidecars towards the control plane and names of
 * services never are both.
 */
export function principalOf(certificate) {
  if (!certificate) return undefined
  var name = certificate.subject.commonName
  var names = certificate.subjectAltNames
  return name && names && names.includes(name) ? name : undefined
}

/** True if a principal is among the callers: a list of names, or everyone of a trust domain. */
export function mayCall(callers, principal) {
  if (!callers || principal === undefined) return false
  if (callers.names) return callers.names.includes(principal)
  if (!callers.domain) return false
  var suffix = '.' + callers.domain
  if (!principal.endsWith(suffix)) return false
  // `<account>.<namespace>.<trust domain>`
  return (
    principal
      .substring(0, principal.length - suffix.length)
      .split('.')
      .filter((label) => label !== '').length >= 2
  )
}

/** True if one of the names is in the certificate. */
export function hasName(certificate, names) {
  var own = certificate ? certificate.subjectAltNames : undefined
  return own ? names.some((name) => own.includes(name)) : false
}
