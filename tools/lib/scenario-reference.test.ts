import { describe, expect, it } from '@jest/globals'
import { renderScenarios } from './scenario-reference.mjs'

describe('renderScenarios', () => {
  it('says of each scenario where it runs, and why not elsewhere', () => {
    const text = renderScenarios([
      { name: 'egress', title: 'Doors open', modes: ['explicit', 'pods'], without: { transparent: 'no doors' } },
      { name: 'ingress', title: 'Doors close', modes: ['explicit', 'transparent', 'pods'] },
    ])
    expect(text).toContain(
      '| [egress](../../packages/driver-testkit/scenarios/egress.yaml) | Doors open | yes | no | yes |\n',
    )
    expect(text).toContain(
      '| [ingress](../../packages/driver-testkit/scenarios/ingress.yaml) | Doors close | yes | yes | yes |\n',
    )
    expect(text).toContain('- `egress` not in transparent: no doors\n')
    expect(text).not.toContain('`ingress` not in')
  })
})
