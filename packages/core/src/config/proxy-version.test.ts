import { describe, expect, it } from '@jest/globals'

import { isOlderProxy } from './proxy-version.js'

describe('the version of a proxy in the tag of its image', () => {
  it.each<[string, string | undefined, boolean]>([
    ['envoyproxy/envoy:v1.22.2', '1.37', true],
    ['envoyproxy/envoy:distroless-v1.37.0', '1.37', false],
    ['registry.example:1.22/envoy:v1.9.9', '1.37', true],
    ['registry.example:1.22/envoy', '1.37', false],
    ['registry.example:5000/acme:2.3@sha256:1a2b', '2.3.1', true],
    ['acme:2.3.1', '2.3.1', false],
    ['acme:10.0', '9.5', false],
    ['acme:latest', '9.5', false],
    ['acme:0.1', undefined, false],
    ['acme:0.1', '', false],
  ])('%s is looked at beside %s', (image, oldest, expected) => {
    expect(isOlderProxy(image, oldest)).toBe(expected)
  })
})
