import { describe, expect, it } from '@jest/globals'
import { packagesFor } from './debian-packages.mjs'

const list = `# comment

iptables  transparent  rules
curl      demo         looks
iproute2  transparent  namespaces
`

describe('packagesFor', () => {
  it('gives the packages of one purpose', () => {
    expect(packagesFor(list, 'transparent')).toEqual(['iptables', 'iproute2'])
    expect(packagesFor(list, 'nothing')).toEqual([])
  })

  it('insists on a reason for each package', () => {
    expect(() => packagesFor('curl demo\n', 'demo')).toThrow('curl demo')
  })
})
