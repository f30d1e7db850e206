const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates in a text, PEM, in its order. Nothing has been looked at but their frames. */
export function pemCertificates(text: string): readonly string[] {
  return text.match(PEM_CERTIFICATE) ?? []
}
