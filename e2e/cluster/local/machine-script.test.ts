import { execFileSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { addressPlan } from './address-plan.js'
import { controlPlaneSteps, machineScript, nodeSteps, type Machine } from './machine-script.js'

const plan = addressPlan(208, 1)
const programs = {
  kubernetes: '/cache/kubernetes',
  etcd: '/usr/bin/etcd',
  containerd: '/usr/bin/containerd',
  plugins: '/usr/lib/cni',
}
const node = plan.nodes[0]!

function machine(fields: Partial<Machine> = {}): Machine {
  return {
    name: 'node-1',
    folder: '/var/lib/x/node-1',
    programs: '/cache/kubernetes',
    steps: nodeSteps(node, programs),
    ...fields,
  }
}

describe('machineScript', () => {
  it('is a script that a shell can read', () => {
    const scripts = [machine(), machine({ steps: controlPlaneSteps(plan, programs) })].map(machineScript)
    for (const script of scripts) expect(execFileSync('sh', ['-n'], { input: script }).toString()).toBe('')
  })

  it('starts the proxy of a node in a later step than what registers the node', () => {
    const lines = machineScript(machine()).split('\n')
    const order = lines
      .filter((line) => /^(read|keep \w)/.test(line))
      .map((line) => line.split(' ').slice(0, 2).join(' '))
    expect(order).toEqual(['read -r', 'keep containerd', 'keep kubelet', 'read -r', 'keep kube-proxy'])
  })

  it('takes every word of a command as it is', () => {
    const word = `it's $HOME "and" more`
    const script = machineScript(machine({ steps: [[{ name: 'echo', command: ['/bin/echo', word] }]] }))
    const line = script.split('\n').find((each) => each.startsWith('keep echo'))
    const said = execFileSync('sh', ['-c', `keep() { shift 2; printf %s "$1"; }\n${line ?? ''}\nwait`])
    expect(said.toString()).toBe(word)
  })
})
