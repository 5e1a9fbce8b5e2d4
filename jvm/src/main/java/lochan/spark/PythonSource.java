package lochan.spark;

import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;

/** The source in Python, for what is not done here: it writes rows, and reads files that Spark itself cannot read. */
public final class PythonSource extends PythonDataSourceV2 {
  static final String NAME = "lochan"; // as Python registers it

  public PythonSource() {
    super.setShortName(NAME);
  }

  /** Spark would take the name of this class for that of the source. */
  @Override
  public void setShortName(String given) {}
}
