import { describe, expect, it } from '@jest/globals'

import { MAX_MESSAGE_LENGTH, redact } from './redact.js'

const canary = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'

describe('redact', () => {
  it.each([
    `bad key -----BEGIN PRIVATE KEY-----\n${canary}\n-----END PRIVATE KEY----- in it`,
    `bad key -----BEGIN PRIVATE KEY-----\\n${canary}\\n-----END PRIVATE KEY-----\\n`,
    `cut off -----BEGIN EC PRIVATE KEY-----\n${canary}`,
    `one cut off -----BEGIN PRIVATE KEY-----\nMIGH\n-----END and another -----BEGIN PRIVATE KEY-----\n${canary}\n-----END PRIVATE KEY-----`,
    `tls_certificate { private_key { inline_string: "${canary}" } }`,
    `private_key { inline_bytes: "abc\\"${canary}" }`,
    `{"name":"x","inlineBytes":"${canary}"}`,
    `password: '${canary}'`,
  ])('takes key material out of %j', (message) => {
    const shown = redact(message)
    expect(shown).not.toContain(canary)
    expect(shown).toContain('[redacted]')
  })

  it('takes key material out before it cuts', () => {
    const message = `${'x'.repeat(MAX_MESSAGE_LENGTH - 40)}-----BEGIN PRIVATE KEY-----\n${canary}`
    expect(redact(message)).not.toContain(canary.slice(0, 4))
    expect(redact('y'.repeat(10_000))).toHaveLength(MAX_MESSAGE_LENGTH)
  })

  it('leaves other words alone', () => {
    const message = "Error adding/updating cluster(s) a/b|80: 'x' is not a valid address"
    expect(redact(message)).toBe(message)
  })
})
