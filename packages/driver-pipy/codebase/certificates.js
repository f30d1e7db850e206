// Texts with certificates.

var BEGIN = '-----BEGIN CERTIFICATE-----'
var END = '-----END CERTIFICATE-----'

/** The certificates of a text, each as its own text: Pipy reads the first of a text. */
export function pemsOf(text) {
  var parts = text.split(END)
  return parts
    .slice(0, parts.length - 1)
    .map((part) => part.substring(Math.max(0, part.indexOf(BEGIN))).trim())
    .filter((part) => part.startsWith(BEGIN))
    .map((part) => part + '\n' + END + '\n')
}

/** The certificates of a text. There are two roots while one takes the place of the other. */
export function certificatesOf(text) {
  return pemsOf(text).map((pem) => new crypto.Certificate(pem))
}

/** A certificate with those between it and the root, and its key, as TLS shows it. Throws what is wrong with it. */
export function shownCertificate(chain, key) {
  // A chain that holds no certificate is taken without a word, and then fails every handshake.
  if (!new crypto.Certificate(chain).subject) throw new Error('the certificate cannot be read')
  return { cert: new crypto.CertificateChain(chain), key: new crypto.PrivateKey(key) }
}
