"""What plugin authors test their plugins with."""
