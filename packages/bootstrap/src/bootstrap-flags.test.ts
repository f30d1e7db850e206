import { describe, expect, it } from '@jest/globals'

import { parseBootstrapFlags, webhookSettings } from './bootstrap-flags.js'

const mesh = ['--mesh-name=shop', '--osm-namespace=mesh', '--osm-version=v1']

describe('the flags of osm-bootstrap', () => {
  it('name webhook configurations after the mesh', () => {
    expect(webhookSettings(parseBootstrapFlags(mesh))).toEqual({
      mesh: { meshName: 'shop', osmNamespace: 'mesh', osmVersion: 'v1' },
      mutatingName: 'osm-webhook-shop',
      validatingName: 'osm-validator-mesh-shop',
      timeoutSeconds: 20,
      failurePolicy: 'Fail',
      validateTrafficTarget: true,
    })
  })

  it('may give every setting of the webhooks', () => {
    const flags = [
      '--webhook-config-name=a',
      '--validator-webhook-config=b',
      '--webhook-timeout=3',
      '--webhook-failure-policy=Ignore',
      '--validate-traffic-target=false',
    ]
    expect(webhookSettings(parseBootstrapFlags([...mesh, ...flags]))).toMatchObject({
      mutatingName: 'a',
      validatingName: 'b',
      timeoutSeconds: 3,
      failurePolicy: 'Ignore',
      validateTrafficTarget: false,
    })
  })

  it.each([
    ['--webhook-timeout=0'],
    ['--webhook-failure-policy=fail'],
    ['--health-port=70000'],
    ['--webhook-config-name=A'],
  ])('refuse %s', (flag) => {
    expect(() => parseBootstrapFlags([...mesh, flag])).toThrow(expect.objectContaining({ code: 'OSM_PROGRAM_FLAG' }))
  })
})
