import { describe, expect, it } from '@jest/globals'
import { addressPlan } from './address-plan.js'
import { nodeFiles } from './node-files.js'

const plan = addressPlan(208, 2)
const options = {
  plan,
  cgroup: 'osm-cluster-dev',
  pauseImage: 'localhost/osm-cluster/pause:1',
  plugins: '/usr/lib/cni',
}

describe('nodeFiles', () => {
  it('give each node control groups and pod addresses of its own', () => {
    const [first, second] = plan.nodes.map((node) => nodeFiles({ ...options, node }))
    const roots = [first, second].map(
      (files) => (JSON.parse(files!['kubelet.json']!) as { cgroupRoot: string }).cgroupRoot,
    )
    expect(roots).toEqual(['/osm-cluster-dev/node-1', '/osm-cluster-dev/node-2'])
    expect(first!['cni/10-osm-cluster.conflist']).toContain('10.208.128.0/24')
    expect(second!['cni/10-osm-cluster.conflist']).toContain('10.208.129.0/24')
  })

  it('give pods addresses of both families in clusters that have them', () => {
    const dual = addressPlan(208, 1, 'dual')
    const files = nodeFiles({ ...options, plan: dual, node: dual.nodes[0]! })
    const network = JSON.parse(files['cni/10-osm-cluster.conflist']!) as { readonly plugins: readonly object[] }
    expect(network.plugins[0]).toMatchObject({
      ipam: {
        ranges: [[{ subnet: '10.208.128.0/24' }], [{ subnet: 'fd6f:736d:d0:8000::/64' }]],
        routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
      },
    })
    expect(files['kube-proxy.json']).toContain('"clusterCIDR": "10.208.128.0/17,fd6f:736d:d0:8000::/56"')
  })

  it('name the images and plug-ins that the node has', () => {
    const files = nodeFiles({ ...options, node: plan.nodes[0]! })
    expect(files['containerd.toml']).toContain('sandbox_image = "localhost/osm-cluster/pause:1"')
    expect(files['containerd.toml']).toContain('bin_dir = "/usr/lib/cni"')
    expect(files['resolv.conf']).toBe(`nameserver ${plan.dnsService}\n`)
  })
})
