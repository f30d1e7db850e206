import { describe, expect, it } from '@jest/globals'
import { failedTests, findingsOf } from './gateway-api-report.js'

const report = (date: string, profiles: string): string => `
date: "${date}"
gatewayAPIVersion: v1.6.3
gatewayAPIChannel: standard
mode: class-envoy
implementation: { version: v${date} }
profiles: [${profiles}]
`

describe('findingsOf', () => {
  it('leaves out when and of which version a report is, and the order of profiles', () => {
    const found = findingsOf(
      report('2026-01-01', '{ name: MESH-HTTP, core: { result: success } }, { name: MESH-GRPC }'),
    )
    expect(found).toEqual(
      findingsOf(report('2026-02-02', '{ name: MESH-GRPC }, { name: MESH-HTTP, core: { result: success } }')),
    )
    expect(found).not.toEqual(
      findingsOf(report('2026-01-01', '{ name: MESH-HTTP, core: { result: failure } }, { name: MESH-GRPC }')),
    )
  })
})

describe('failedTests', () => {
  it('names tests, not their parts nor the suite as a whole', () => {
    const log = `--- FAIL: Conformance (166.98s)
    --- FAIL: Conformance/MeshFrontend (31.25s)
        --- PASS: Conformance/MeshFrontend/Send_to_service (1.19s)
        --- FAIL: Conformance/MeshFrontend/Send_to_pod_IP (30.00s)
    --- PASS: Conformance/MeshPorts (3.32s)
`
    expect(failedTests(log)).toEqual(['MeshFrontend'])
  })
})
