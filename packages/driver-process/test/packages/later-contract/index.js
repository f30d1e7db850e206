export default {
  name: 'later',
  contract: { min: 98, max: 99 },
  capabilities: { protocols: ['quic'] },
  configSchema: {},
  patch: async () => ({}),
  start: async () => ({}),
}
