export default {
  name: 'later',
  contract: 99,
  capabilities: { protocols: ['quic'] },
  configSchema: {},
  patch: async () => ({}),
  start: async () => ({}),
}
