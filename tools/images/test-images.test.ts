import { describe, expect, it } from '@jest/globals'
import { completeReference } from './test-images.mjs'

describe('completeReference', () => {
  it.each([
    ['curlimages/curl', 'docker.io/curlimages/curl:latest'],
    ['busybox', 'docker.io/library/busybox:latest'],
    ['envoyproxy/envoy:distroless-v1.40.0', 'docker.io/envoyproxy/envoy:distroless-v1.40.0'],
    ['localhost/osm-ts/osm-controller:0.1.0', 'localhost/osm-ts/osm-controller:0.1.0'],
    ['registry.example:5000/mesh/app', 'registry.example:5000/mesh/app:latest'],
  ])('completes %s as container runtimes do', (reference, complete) => {
    expect(completeReference(reference)).toBe(complete)
  })
})
