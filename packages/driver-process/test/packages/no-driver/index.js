export default { name: 'Not A Label', contract: 1, capabilities: {}, configSchema: {} }
