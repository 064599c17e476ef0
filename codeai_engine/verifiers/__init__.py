"""What examines a subject: state resolvers and verifiers, by protocol."""
